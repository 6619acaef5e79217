/* SPDX-License-Identifier: MIT */
/* The subcommands. Each gets an argv that begins with its own name, and returns the exit status. */
#ifndef DT_CMD_COMMANDS_H
#define DT_CMD_COMMANDS_H

#include <stdbool.h>

int dt_cmd_run(int argc, char **argv); /* devtrace PROG: argv[0] is devtrace's own */
int dt_cmd_record(int argc, char **argv);
int dt_cmd_attach(int argc, char **argv);
int dt_cmd_ctl(int argc, char **argv);
int dt_cmd_mount(int argc, char **argv);
int dt_cmd_shell(int argc, char **argv);
int dt_cmd_list(int argc, char **argv);
int dt_cmd_cat(int argc, char **argv);
int dt_cmd_calls(int argc, char **argv);
int dt_cmd_report(int argc, char **argv);
int dt_cmd_graph(int argc, char **argv);
int dt_cmd_diff(int argc, char **argv);
int dt_cmd_flame(int argc, char **argv);
int dt_cmd_view(int argc, char **argv);
int dt_cmd_sql(int argc, char **argv);
int dt_cmd_path(int argc, char **argv);
int dt_cmd_plot(int argc, char **argv);
int dt_cmd_hist(int argc, char **argv);
int dt_cmd_count(int argc, char **argv);
int dt_cmd_events(int argc, char **argv);
int dt_cmd_export(int argc, char **argv);
int dt_cmd_import(int argc, char **argv);
int dt_cmd_serve(int argc, char **argv);
int dt_cmd_fetch(int argc, char **argv);
int dt_cmd_sum(int argc, char **argv);
int dt_cmd_check(int argc, char **argv);
int dt_cmd_top(int argc, char **argv);
int dt_cmd_tui(int argc, char **argv);
int dt_cmd_merge(int argc, char **argv);

/* Say whether calls and report can print what these options say, for a command that prints by them
 * later; NULL: not given; switches: they will be in the trace. False: they can not, which has been
 * reported. */
bool dt_calls_can_print(const char *fields, const char *units, bool switches);
bool dt_report_can_print(const char *fields);

/* Makes dt_cmd_unhooked() (cmd/open.h) say nothing: the command that recorded the trace has already
 * said what was not hooked. */
void dt_cmd_unhooked_said(void);

#endif
