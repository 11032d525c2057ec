#include "trace/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/banned.h"

#define KEY_LONG  (0xffull << 56)
#define TABLE_MAX 0x7ffffff0u /* below STRREF_NUMBER */
#define POOL_STEP 65536       /* bytes */
#define ROOMY     65536       /* slots: a smaller table is kept nearly empty */

static void table_rehash(struct table *t)
{
	uint32_t old_n = t->nslots;
	struct table_slot *old = t->slot;

	t->nslots = old_n ? old_n * 2 : 64;
	t->slot = mem_zalloc(t->nslots * sizeof *t->slot);
	for (uint32_t i = 0; i < old_n; i++) {
		uint32_t at;

		if (!old[i].id_plus_1)
			continue;
		at = table_slot_of(t, old[i].lo, old[i].hi);
		while (t->slot[at].id_plus_1)
			at = (at + 1) & (t->nslots - 1);
		t->slot[at] = old[i];
	}
	mem_free(old);
}

uint32_t table_append(struct table *t, const char *s, size_t n)
{
	char *text;

	if (t->n >= TABLE_MAX) {
		fprintf(stderr, "atomsan: more than %u names in one trace\n", TABLE_MAX);
		exit(2);
	}
	if (n + 1 > t->free_left) {
		t->free_left = n + 1 > POOL_STEP ? n + 1 : POOL_STEP;
		t->free_text = arena_alloc(&t->pool, t->free_left);
	}
	text = t->free_text;
	memcpy(text, s, n);
	text[n] = 0;
	t->free_text += n + 1;
	t->free_left -= n + 1;

	MEM_GROW(t->text, t->cap, t->n + 1);
	MEM_GROW(t->len, t->len_cap, t->n + 1);
	t->text[t->n] = text;
	t->len[t->n] = (uint32_t)n;
	return t->n++;
}

uint32_t table_intern_key(struct table *t, const char *s, size_t n, uint64_t lo, uint64_t hi)
{
	uint32_t at;

	/* A small table can afford to be nearly empty, so that the first slot is the right one. */
	if (t->n >= t->nslots / 4 * (t->nslots < ROOMY ? 1 : 3))
		table_rehash(t);
	at = table_slot_of(t, lo, hi);
	for (; t->slot[at].id_plus_1; at = (at + 1) & (t->nslots - 1)) {
		uint32_t id = t->slot[at].id_plus_1 - 1;

		if (t->slot[at].lo != lo || t->slot[at].hi != hi)
			continue;
		if (hi != KEY_LONG || (t->len[id] == n && !memcmp(t->text[id], s, n)))
			return id;
	}
	t->slot[at] = (struct table_slot){lo, hi, t->n + 1};
	return table_append(t, s, n);
}

uint32_t table_intern_long(struct table *t, const char *s, size_t n)
{
	return table_intern_key(t, s, n, XXH3_64bits(s, n), KEY_LONG);
}

uint32_t table_intern_any(struct table *t, const char *s, size_t n)
{
	char padded[32] = {0};

	if (n >= 16)
		return table_intern(t, s, n);
	memcpy(padded, s, n);
	return table_intern(t, padded, n);
}

void table_reset(struct table *t)
{
	arena_free(&t->pool);
	mem_free(t->text);
	mem_free(t->len);
	mem_free(t->slot);
	*t = (struct table){0};
}

void names_init(struct names *names)
{
	*names = (struct names){0};
	table_intern_any(&names->table[NAMES_STRING], "", 0);
}

void names_free(struct names *names)
{
	for (int k = 0; k < NAMES_KINDS; k++)
		table_reset(&names->table[k]);
	mem_free(names->acquired);
	names->acquired = NULL;
	names->acquired_cap = 0;
}

void names_note_lock(struct names *names, const struct event *e)
{
	MEM_GROW0(names->acquired, names->acquired_cap, (size_t)e->operand + 1);
	if (!names->acquired[e->operand])
		names->acquired[e->operand] = e->place;
}

strref names_string(struct names *names, const char *s, size_t n)
{
	uint32_t number = 0;

	/* A number exactly as names_add_string() prints it needs no table entry. */
	if (n && n <= 9 && (s[0] != '0' || n == 1)) {
		size_t i = 0;

		while (i < n && s[i] >= '0' && s[i] <= '9')
			number = number * 10 + (uint32_t)(s[i++] - '0');
		if (i == n)
			return STRREF_NUMBER | number;
	}
	return table_intern(&names->table[NAMES_STRING], s, n);
}

void names_add_string(const struct names *names, strref ref, struct str *out)
{
	if (ref & STRREF_NUMBER)
		str_fmt(out, "%u", ref & ~STRREF_NUMBER);
	else if (names->resolver && ref)
		names->resolver->show(names->resolver, names, NAMES_STRING, ref, out);
	else
		str_addn(out, names->table[NAMES_STRING].text[ref],
			 names->table[NAMES_STRING].len[ref]);
}

void names_add_operand(const struct names *names, const struct event *e, struct str *out)
{
	static const enum names_kind kind[] = {
		[OPERAND_VAR] = NAMES_VAR,
		[OPERAND_LOCK] = NAMES_LOCK,
		[OPERAND_SYNC] = NAMES_LOCK,
		[OPERAND_THREAD] = NAMES_THREAD,
	};
	enum operand_kind k = op_info[e->op].operand;

	if (k == OPERAND_NONE)
		return;
	if (k == OPERAND_LABEL) {
		names_add_string(names, e->operand, out);
	} else if (names->resolver && (kind[k] == NAMES_VAR || kind[k] == NAMES_LOCK)) {
		names->resolver->show(names->resolver, names, kind[k], e->operand, out);
	} else {
		const struct table *t = &names->table[kind[k]];

		str_addn(out, t->text[e->operand], t->len[e->operand]);
	}
}
