#include "trace/raw_names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "trace/recorded.h"

#include "base/banned.h"

static struct raw_map_slot *find_slot(const struct raw_map *m, uint64_t a, uint64_t b)
{
	uint64_t h = (a * 0x9e3779b97f4a7c15ull ^ b) * 0xff51afd7ed558ccdull;
	size_t i = (h ^ h >> 32) & (m->cap - 1);

	while (m->slot[i].value_plus_1 && (m->slot[i].a != a || m->slot[i].b != b))
		i = (i + 1) & (m->cap - 1);
	return &m->slot[i];
}

uint32_t raw_map_get(const struct raw_map *m, uint64_t a, uint64_t b)
{
	return m->cap ? find_slot(m, a, b)->value_plus_1 - 1 : RAW_MAP_NONE;
}

void raw_map_put(struct raw_map *m, uint64_t a, uint64_t b, uint32_t value)
{
	struct raw_map_slot *slot;

	if (2 * (m->n + 1) > m->cap) {
		struct raw_map old = *m;

		m->cap = old.cap ? 2 * old.cap : 1024;
		m->slot = mem_zalloc(m->cap * sizeof *m->slot);
		for (size_t i = 0; i < old.cap; i++)
			if (old.slot[i].value_plus_1)
				*find_slot(m, old.slot[i].a, old.slot[i].b) = old.slot[i];
		mem_free(old.slot);
	}
	slot = find_slot(m, a, b);
	m->n += !slot->value_plus_1;
	*slot = (struct raw_map_slot){a, b, value + 1};
}

void raw_map_free(struct raw_map *m)
{
	mem_free(m->slot);
	*m = (struct raw_map){0};
}

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
	raw_map_free(&n->places);
	raw_map_free(&n->labels);
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
	uint32_t ref = raw_map_get(&n->places, pc, parent);

	if (ref == RAW_MAP_NONE) {
		str_reset(&n->text);
		str_fmt(&n->text, "%" PRIu32 " ", parent);
		add_pc(n, pc);
		ref = raw_names_next(n, NAMES_STRING);
		raw_map_put(&n->places, pc, parent, ref);
	}
	return ref;
}

strref raw_names_label(struct raw_names *n, char kind, uint64_t pc, const char *text, size_t len)
{
	uint32_t ref = raw_map_get(&n->labels, pc, (unsigned char)kind);

	if (ref == RAW_MAP_NONE) {
		str_reset(&n->text);
		str_addc(&n->text, kind);
		str_addc(&n->text, ' ');
		if (kind == 'a')
			str_addn(&n->text, text, len);
		else
			add_pc(n, pc);
		ref = raw_names_next(n, NAMES_STRING);
		raw_map_put(&n->labels, pc, (unsigned char)kind, ref);
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
