#include "trace/raw_names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "trace/recorded.h"

#include "base/banned.h"

void raw_names_init(struct raw_names *n, struct names *names)
{
	*n = (struct raw_names){.names = names, .text = STR_INIT};
	n->counted[NAMES_STRING] = 1;
}

void raw_names_restart(struct raw_names *n)
{
	/* Places and labels are looked up by key; the others come again in the same order. */
	n->counted[NAMES_VAR] = n->counted[NAMES_LOCK] = n->counted[NAMES_NOTE] = 0;
	n->nmodules = 0;
}

void raw_names_free(struct raw_names *n)
{
	str_free(&n->text);
	map_free(&n->places);
	map_free(&n->labels);
	mem_free(n->module);
}

bool raw_names_next_exists(const struct raw_names *n, enum names_kind kind)
{
	return n->counted[kind] < n->names->table[kind].n;
}

uint32_t raw_names_next(struct raw_names *n, enum names_kind kind)
{
	if (!raw_names_next_exists(n, kind))
		table_append(&n->names->table[kind], n->text.s, n->text.n);
	return n->counted[kind]++;
}

void raw_names_note(struct raw_names *n)
{
	raw_names_next(n, NAMES_NOTE);
}

/* The text is "SIZE BUILD-ID PATH". */
void raw_names_module(struct raw_names *n, uint64_t base, const char *text, size_t len)
{
	char *copy = mem_strndup(text, len), *rest;
	uint64_t size = strtoull(copy, &rest, 10);

	if (*rest == ' ' && rest[1]) {
		MEM_GROW(n->module, n->modules_cap, n->nmodules + 1);
		n->module[n->nmodules] =
			(struct raw_module){base, base + size, (uint32_t)n->nmodules + 1};
		n->nmodules++;
		str_reset(&n->text);
		str_fmt(&n->text, "module %zu 0x%" PRIx64 " %" PRIu64 "%s", n->nmodules, base, size,
			rest);
		raw_names_note(n);
	}
	mem_free(copy);
}

static void add_pc(struct raw_names *n, uint64_t pc)
{
	for (size_t i = n->nmodules; i-- > 0;)
		if (pc >= n->module[i].base && pc < n->module[i].end) {
			str_fmt(&n->text, "%" PRIu32 "+0x%" PRIx64, n->module[i].number,
				pc - n->module[i].base);
			return;
		}
	str_fmt(&n->text, "?+0x%" PRIx64, pc);
}

strref raw_names_place(struct raw_names *n, strref parent, uint64_t pc)
{
	uint32_t ref = map_get2(&n->places, pc, parent);

	if (ref == MAP_NONE) {
		str_reset(&n->text);
		str_fmt(&n->text, "%" PRIu32 " ", parent);
		add_pc(n, pc);
		ref = raw_names_next(n, NAMES_STRING);
		map_set2(&n->places, pc, parent, ref);
	}
	return ref;
}

strref raw_names_label(struct raw_names *n, char kind, uint64_t pc, const char *text, size_t len)
{
	uint32_t ref = map_get2(&n->labels, pc, (unsigned char)kind);

	if (ref == MAP_NONE) {
		str_reset(&n->text);
		str_addc(&n->text, kind);
		str_addc(&n->text, ' ');
		if (kind == 'a')
			str_addn(&n->text, text, len);
		else
			add_pc(n, pc);
		ref = raw_names_next(n, NAMES_STRING);
		map_set2(&n->labels, pc, (unsigned char)kind, ref);
	}
	return ref;
}

void raw_names_add_allocation(struct raw_names *n, uint64_t offset, uint64_t size, uint64_t bytes,
			      strref place)
{
	str_fmt(&n->text, "h 0x%" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRIu32, offset, size, bytes,
		place);
}

void raw_names_add_memory(struct raw_names *n, struct raw_memory *m, uint64_t address,
			  uint64_t size)
{
	const struct raw_allocation *b = raw_memory_allocation_at(m, address);
	uint32_t stack_of;

	if (b) {
		raw_names_add_allocation(n, address - b->address, size, b->size, b->place);
		return;
	}
	for (size_t i = n->nmodules; i-- > 0;)
		if (address >= n->module[i].base && address < n->module[i].end) {
			str_add(&n->text, "g ");
			add_pc(n, address);
			str_fmt(&n->text, " %" PRIu64, size);
			return;
		}
	stack_of = raw_memory_stack_at(m, address);
	if (stack_of != RAW_NO_STACK)
		str_fmt(&n->text, "s %" PRIu32 " 0x%" PRIx64 " %" PRIu64, stack_of, address, size);
	else
		str_fmt(&n->text, "o 0x%" PRIx64 " %" PRIu64, address, size);
}
