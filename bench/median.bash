# SPDX-License-Identifier: MIT
# Of a file with a figure on each line. To be sourced.
# median FILE
median() { sort -g "$1" | awk '{ x[NR] = $1 } END { print x[int((NR + 1) / 2)] }'; }
# spread FILE: "LEAST to LARGEST"
spread() { sort -g "$1" | awk 'NR == 1 { least = $1 } END { print least " to " $1 }'; }
