/*
 * The cycle as a graph for Graphviz, as in Velodrome's figures: one box per
 * transaction, one edge per conflict. There is one graph per finding:
 *
 *	atomsan check --format=dot x.std | dot -Tsvg -O
 */
#include "report/report.h"

#include <inttypes.h>
#include <string.h>

#include "base/str.h"
#include "report/step.h"
#include "report/xml.h"

#include "base/banned.h"

/*
 * Labels are in Graphviz's HTML-like form, so that a box can have a title and
 * columns. Text after GRAY must end with </font>.
 */
#define GRAY  "<font color=\"gray40\">"
#define SPACE "&#160;"

static void add_html(struct str *b, const char *s)
{
	/* Graphviz rejects an empty <b></b>. */
	if (!*s)
		str_add(b, SPACE);
	xml_add(b, s, true);
}

static void add_op(struct str *b, const struct finding_step *s)
{
	add_html(b, s->op ? s->op : "?");
	if (!s->operand)
		return;
	str_addc(b, '(');
	add_html(b, s->operand);
	str_addc(b, ')');
}

/* A box with its steps, in the order of events and each only once. */
struct box {
	const struct finding_step **step;
	size_t n, cap;
};

struct graph {
	const struct finding *f;
	struct box *box;
	size_t n, cap;
	size_t *box_of; /* box of each step */
};

static void box_add(struct box *box, const struct finding_step *s)
{
	size_t i = box->n;

	for (size_t k = 0; k < box->n; k++)
		if (box->step[k]->event == s->event && step_same_name(box->step[k]->op, s->op))
			return;
	MEM_GROW(box->step, box->cap, box->n + 1);
	for (; i && box->step[i - 1]->event > s->event; i--)
		box->step[i] = box->step[i - 1];
	box->step[i] = s;
	box->n++;
}

static void graph_build(struct graph *g, const struct finding *f)
{
	*g = (struct graph){.f = f, .box_of = mem_alloc(f->nsteps * sizeof *g->box_of)};
	for (size_t i = 0; i < f->nsteps; i++) {
		size_t k = 0;

		while (k < g->n && !step_same_block(g->box[k].step[0], &f->steps[i]))
			k++;
		if (k == g->n) {
			MEM_GROW(g->box, g->cap, g->n + 1);
			g->box[g->n++] = (struct box){0};
		}
		box_add(&g->box[k], &f->steps[i]);
		g->box_of[i] = k;
	}
}

static void graph_free(struct graph *g)
{
	for (size_t i = 0; i < g->n; i++)
		mem_free(g->box[i].step);
	mem_free(g->box);
	mem_free(g->box_of);
}

static void add_box(struct str *b, const struct graph *g, size_t index)
{
	const struct box *box = &g->box[index];
	const struct finding_step *first = box->step[0];
	bool blamed = step_is_blamed(g->f, first);
	struct str place = STR_INIT;

	str_fmt(b,
		"\tt%zu [label=<<table border=\"0\" cellborder=\"0\" cellspacing=\"0\" "
		"cellpadding=\"2\">\n",
		index);
	str_add(b, "\t\t<tr><td align=\"left\" colspan=\"2\"><b>");
	add_html(b, first->thread ? first->thread : "?");
	if (first->label) {
		str_add(b, ": ");
		add_html(b, first->label);
	}
	str_add(b, "</b>");
	if (first->begin && !g->f->live)
		str_fmt(b, " " GRAY "from event %" PRIu64 "%s</font>", first->begin,
			blamed ? ", not atomic" : "");
	else if (blamed)
		str_add(b, " " GRAY "not atomic</font>");
	str_add(b, "</td></tr>\n");
	for (size_t i = 0; i < box->n; i++) {
		const struct finding_step *s = box->step[i];

		str_add(b, "\t\t<tr><td align=\"left\">");
		if (!g->f->live)
			str_fmt(b, "%" PRIu64 ": ", s->event);
		add_op(b, s);
		str_add(b, "</td><td align=\"right\">" GRAY);
		str_reset(&place);
		step_add_place(&place, g->f, s);
		add_html(b, place.s);
		str_add(b, "</font></td></tr>\n");
	}
	str_free(&place);
	str_fmt(b, "\t</table>>%s];\n", blamed ? ", color=\"firebrick\", penwidth=2.5" : "");
}

static void add_edge(struct str *b, const struct graph *g, size_t to)
{
	const struct finding_step *s = &g->f->steps[to - 1], *t = &g->f->steps[to];
	enum step_link link = step_link(s, t);
	bool closing = to == g->f->nsteps - 1;

	if (g->box_of[to - 1] == g->box_of[to])
		return;
	/* Spaces around the label, because Graphviz draws lines that touch it. */
	str_fmt(b, "\tt%zu -> t%zu [label=<" SPACE SPACE, g->box_of[to - 1], g->box_of[to]);
	if (link == STEP_SAME_THREAD) {
		str_add(b, "same thread");
	} else {
		add_op(b, s);
		str_add(b, " &#8594; ");
		add_op(b, t);
	}
	str_add(b, SPACE SPACE ">");
	if (link == STEP_SAME_THREAD)
		str_add(b, ", color=gray60, fontcolor=gray60");
	if (closing)
		str_add(b, ", style=dashed");
	str_add(b, "];\n");
}

static void write_graph(const struct finding *f, size_t number, FILE *out)
{
	struct str b = STR_INIT;
	struct graph g;

	graph_build(&g, f);
	str_fmt(&b, "digraph cycle_%zu {\n", number);
	str_add(&b, "\tgraph [fontname=\"Helvetica\", fontsize=11, nodesep=0.9, ranksep=0.8];\n"
		    "\tnode [shape=box, style=rounded, fontname=\"Helvetica\", fontsize=11];\n"
		    "\tedge [fontname=\"Helvetica\", fontsize=10, arrowsize=0.8];\n");
	for (size_t i = 0; i < g.n; i++)
		add_box(&b, &g, i);
	for (size_t i = 1; i < f->nsteps; i++)
		add_edge(&b, &g, i);
	str_add(&b, "}\n");
	fwrite(b.s, 1, b.n, out);
	str_free(&b);
	graph_free(&g);
}

static void dot_write(const struct report *rep, FILE *out)
{
	size_t number = 0;

	for (size_t i = 0; i < rep->nresults; i++) {
		const struct finding_list *l = &rep->results[i].findings;

		for (size_t k = 0; k < l->n; k++) {
			fprintf(out, "// %s, fingerprint %016" PRIx64 "\n",
				rep->results[i].ops->name, l->v[k]->fingerprint);
			write_graph(l->v[k], ++number, out);
		}
	}
	/* Graphviz rejects an empty file. */
	if (!number)
		fputs("digraph none {\n\tlabel=\"no atomicity violation\";\n}\n", out);
}

const struct report_format dot_format = {
	.name = "dot",
	.summary = "the cycles as graphs, for Graphviz",
	.write = dot_write,
};
