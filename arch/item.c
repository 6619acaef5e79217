/* SPDX-License-Identifier: MIT */
/* Checks an item that another process has written. */
#include "arch/capture.h"

static bool is_size(uint8_t bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

static bool is_address(uint8_t reg)
{
	return reg < DT_REGISTER_XMM0 || reg == DT_REGISTER_RIP || reg == DT_REGISTER_NONE;
}

static bool is_operand(const struct dt_operand *o)
{
	bool wide = o->size == 16 || o->size == 32 || o->size == 64;

	return (o->kind == DT_OPERAND_REGISTER || o->kind == DT_OPERAND_MEMORY ||
		o->kind == DT_OPERAND_CONSTANT) &&
	       (is_size(o->size) || wide) && o->reg <= DT_REGISTER_NONE && o->byte < 64 &&
	       is_address(o->base) && is_address(o->index) && (!o->scale || is_size(o->scale)) &&
	       (!o->segment || o->segment == 'f' || o->segment == 'g') && !o->symbol;
}

bool dt_item_settle(struct dt_item *item)
{
	dt_bool_settle(&item->from.is_signed);
	dt_bool_settle(&item->from.is_float);
	dt_bool_settle(&item->place);
	dt_bool_settle(&item->relative);
	dt_bool_settle(&item->only_text);
	/* these are for prototypes only */
	item->sure = DT_SURE_NOT;
	item->differ = false;
	item->bounds = 0;
	item->buffer = false;
	item->stream = DT_STREAM_NOT;
	item->stream_register = 0;
	item->stack = false;
	if (!is_operand(&item->from) || item->steps > DT_ITEM_STEPS || item->text > DT_CAPTURE_TEXT)
		return false;
	for (unsigned i = 0; i < item->steps; i++) {
		dt_bool_settle(&item->step[i].is_signed);
		dt_bool_settle(&item->step[i].place);
		if (!is_size(item->step[i].size))
			return false;
	}
	return true;
}
