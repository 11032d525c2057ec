#include <stdlib.h>

#include "symbol/frames.h"
#include "symbol/module.h"
#include "symbol/symbol.h"

#include "base/banned.h"

int symbol_functions(const char *path, void (*each)(void *arg, const struct names_frame *f),
		     void *arg, struct err *err)
{
	char *whole = realpath(path, NULL);
	struct str warning = STR_INIT;
	struct naming naming;
	struct module *m;
	int rc = 0;

	if (!whole)
		return err_sys(err, "%s", path);
	m = module_new(whole, "", 0);
	free(whole);
	naming_init(&naming);
	module_open(m, &warning);
	if (!m->file.elf)
		rc = err_fail(err, "%s: not a program or library", path);
	else if (!m->functions.n)
		rc = err_fail(err, "%s: it has no symbols", path);
	for (size_t i = 0; !rc && i < m->functions.n; i++) {
		struct names_frame f;

		if (i && m->functions.v[i].addr == m->functions.v[i - 1].addr)
			continue;
		f = frames_function_at(&naming, m, m->functions.v[i].addr);
		each(arg, &f);
	}
	str_free(&warning);
	module_free(m);
	naming_free(&naming);
	return rc;
}
