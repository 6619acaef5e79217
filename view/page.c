/* SPDX-License-Identifier: MIT */
/* The files of view/page/, included in the binary as the Makefile has put them into page/. */
#include "view/page.h"

#include <string.h>

#define FILE_OF(symbol, path)                                                                      \
	__asm__(".pushsection .rodata\n"                                                           \
		"dt_page_" #symbol ":\n.incbin \"page/" path "\"\n"                                \
		"dt_page_" #symbol "_end:\n.byte 0\n.popsection");                                 \
	extern const unsigned char dt_page_##symbol[], dt_page_##symbol##_end[]

FILE_OF(index, "index.html");
FILE_OF(style, "style.css");
FILE_OF(main, "main.js");
FILE_OF(data, "data.js");
FILE_OF(draw, "draw.js");
FILE_OF(input, "input.js");
FILE_OF(panel, "panel.js");
FILE_OF(arrows, "arrows.js");
FILE_OF(svg, "svg.js");
FILE_OF(key, "key.js");
FILE_OF(list, "list.js");
FILE_OF(live, "live.js");
FILE_OF(news, "news.js");
FILE_OF(activities, "activities.js");
FILE_OF(rows, "rows.js");
FILE_OF(gaps, "gaps.js");
FILE_OF(hosts, "hosts.js");
FILE_OF(text, "text.js");
FILE_OF(why, "why.js");
FILE_OF(heat, "heat.js");
FILE_OF(tables, "tables.js");
FILE_OF(ways, "ways.js");
FILE_OF(measure, "measure.js");
FILE_OF(search, "find.js");
FILE_OF(plots, "plots.js");
FILE_OF(tracks, "tracks.js");
FILE_OF(sql, "sql.js");
FILE_OF(beside, "beside.js");
FILE_OF(wakes, "wakes.js");
FILE_OF(path, "path.js");
FILE_OF(save, "save.js");

#define JS "text/javascript; charset=utf-8"
#define ENTRY(name, type, symbol)                                                                  \
	{                                                                                          \
		name, type, dt_page_##symbol, dt_page_##symbol##_end                               \
	}

static const struct dt_page_file file[] = {
	ENTRY("", "text/html; charset=utf-8", index),
	ENTRY("style.css", "text/css; charset=utf-8", style),
	ENTRY("main.js", JS, main),
	ENTRY("data.js", JS, data),
	ENTRY("draw.js", JS, draw),
	ENTRY("input.js", JS, input),
	ENTRY("panel.js", JS, panel),
	ENTRY("arrows.js", JS, arrows),
	ENTRY("svg.js", JS, svg),
	ENTRY("key.js", JS, key),
	ENTRY("list.js", JS, list),
	ENTRY("live.js", JS, live),
	ENTRY("news.js", JS, news),
	ENTRY("activities.js", JS, activities),
	ENTRY("rows.js", JS, rows),
	ENTRY("gaps.js", JS, gaps),
	ENTRY("hosts.js", JS, hosts),
	ENTRY("text.js", JS, text),
	ENTRY("why.js", JS, why),
	ENTRY("heat.js", JS, heat),
	ENTRY("tables.js", JS, tables),
	ENTRY("ways.js", JS, ways),
	ENTRY("measure.js", JS, measure),
	ENTRY("find.js", JS, search),
	ENTRY("plots.js", JS, plots),
	ENTRY("tracks.js", JS, tracks),
	ENTRY("sql.js", JS, sql),
	ENTRY("beside.js", JS, beside),
	ENTRY("wakes.js", JS, wakes),
	ENTRY("path.js", JS, path),
	ENTRY("save.js", JS, save),
};

const struct dt_page_file *dt_page_find(const char *name)
{
	for (size_t i = 0; i < sizeof(file) / sizeof(*file); i++)
		if (!strcmp(file[i].name, name))
			return &file[i];
	return NULL;
}
