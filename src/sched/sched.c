#include "sched/sched.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

void sched_free(struct sched *s)
{
	for (size_t i = 0; i < s->ncommand; i++)
		mem_free(s->command[i]);
	for (size_t i = 0; i < s->nmodules; i++)
		mem_free(s->module[i].path);
	for (size_t i = 0; i < s->nplaces; i++)
		mem_free(s->place[i].text);
	for (size_t i = 0; i < s->nchoices; i++)
		mem_free(s->choice[i].text);
	mem_free(s->command);
	mem_free(s->module);
	mem_free(s->thread);
	mem_free(s->place);
	mem_free(s->choice);
	mem_free(s->finding);
	mem_free(s->outcome);
	*s = (struct sched){0};
}

int sched_plan(const struct sched *s, struct drive *d, struct err *err)
{
	struct drive_file *f = d->file;

	if (s->nthreads > DRIVE_THREADS || s->nchoices > DRIVE_CHOICES || s->nplaces > DRIVE_PLACES)
		return err_fail(err,
				"the schedule is too long: at most %d threads, %d choices and "
				"%d points",
				DRIVE_THREADS, DRIVE_CHOICES, DRIVE_PLACES);
	f->strategy = DRIVE_DEFAULT;
	f->all_accesses = s->all_accesses;
	f->clock = s->clock;
	f->nplan_threads = (uint32_t)s->nthreads;
	for (size_t i = 0; i < s->nthreads; i++)
		f->plan_thread[i] = s->thread[i];
	f->nchoices = (uint32_t)s->nchoices;
	for (size_t i = 0; i < s->nchoices; i++)
		f->choice[i] = (struct drive_choice){s->choice[i].thread, s->choice[i].step,
						     s->choice[i].chosen, 0};
	drive_sort_choices(f);
	f->nplaces = (uint32_t)s->nplaces;
	for (size_t i = 0; i < s->nplaces; i++)
		f->place[i] =
			(struct drive_place){s->module[s->place[i].module].id, s->place[i].offset};
	return 0;
}

static uint32_t add_module(struct sched *s, const struct drive_file *f, uint64_t id)
{
	size_t i = 0, k = 0;

	while (i < s->nmodules && s->module[i].id != id)
		i++;
	if (i < s->nmodules)
		return (uint32_t)i;
	while (k < f->nmodules && f->module[k].id != id)
		k++;
	MEM_GROW0(s->module, s->module_cap, s->nmodules + 1);
	s->module[i].id = id;
	s->module[i].path = mem_strdup(k < f->nmodules ? f->module[k].path : "?");
	s->nmodules++;
	return (uint32_t)i;
}

/* Adds a thread of the run, after its parents; returns its index. */
static uint32_t add_thread(struct sched *s, const struct drive_file *f, uint32_t *index, uint32_t t)
{
	uint32_t parent = 0;

	if (index[t])
		return index[t] - 1;
	if (t)
		parent = add_thread(s, f, index, f->thread[t].parent);
	MEM_GROW0(s->thread, s->thread_cap, s->nthreads + 1);
	s->thread[s->nthreads] = (struct drive_thread){.parent = parent, .nth = f->thread[t].nth};
	index[t] = (uint32_t)++s->nthreads;
	return index[t] - 1;
}

void sched_take(struct sched *s, const struct drive *d, char **argv)
{
	const struct drive_file *f = d->file;
	uint32_t nthreads = f->nthreads < DRIVE_THREADS ? f->nthreads : DRIVE_THREADS;
	uint32_t *index = mem_zalloc((nthreads + 1) * sizeof *index);

	*s = (struct sched){0};
	for (; argv[s->ncommand]; s->ncommand++) {
		MEM_GROW0(s->command, s->command_cap, s->ncommand + 2);
		s->command[s->ncommand] = mem_strdup(argv[s->ncommand]);
	}
	add_thread(s, f, index, 0);
	if (f->nmodules)
		add_module(s, f, f->module[0].id);
	for (uint32_t i = 0; i < f->nplaces && i < DRIVE_PLACES; i++) {
		MEM_GROW0(s->place, s->place_cap, s->nplaces + 1);
		s->place[s->nplaces++] = (struct sched_place){add_module(s, f, f->place[i].module),
							      f->place[i].offset, NULL};
	}
	for (uint32_t i = 0; i < f->nsteps && i < DRIVE_STEPS; i++) {
		const struct drive_step *x = &f->step[i];

		if (x->chosen == x->standard || x->thread >= nthreads || x->chosen >= nthreads)
			continue;
		MEM_GROW0(s->choice, s->choice_cap, s->nchoices + 1);
		s->choice[s->nchoices++] =
			(struct sched_choice){add_thread(s, f, index, x->thread), x->step,
					      add_thread(s, f, index, x->chosen), NULL};
	}
	s->all_accesses = f->all_accesses;
	s->clock = f->clock;
	s->steps = f->steps;
	s->hash = f->hash;
	mem_free(index);
}

const char *sched_other_build(const struct sched *s, const struct drive *d)
{
	const struct drive_file *f = d->file;

	for (size_t i = 0; i < s->nmodules; i++) {
		uint32_t k = 0;

		while (k < f->nmodules && k < DRIVE_MODULES && f->module[k].id != s->module[i].id)
			k++;
		if (f->nmodules && k == f->nmodules)
			return s->module[i].path;
	}
	return NULL;
}
