/*
 * A library that is unloaded and loaded again, most likely at the same address,
 * while another thread's block is open: its variables are new ones.
 * ThreadSanitizer takes them for the old ones.
 *
 * silent tsan: race
 * silent prints: 1 1
 *
 * library: -DPLUGIN
 * libs: -ldl
 */
#include "window.h"

#ifdef PLUGIN

static int calls;

BLOCK int plugin_call(void)
{
	return ++calls;
}

#else

#include <dlfcn.h>
#include <stdlib.h>

BLOCK int use_plugin(void)
{
	void *plugin = dlopen("./plugin_reload.so", RTLD_NOW);
	int (*call)(void);
	int result;

	if (!plugin)
		abort();
	*(void **)&call = dlsym(plugin, "plugin_call");
	result = call();
	dlclose(plugin);
	return result;
}

BLOCK int use_twice(void)
{
	int one = use_plugin();

	window_hold(1);
	return one * use_plugin();
}

static int result[2];

TWO_THREADS(result[0] = use_twice(), result[1] = use_plugin())

int main(void)
{
	run_two(first, second);
	printf("%d %d\n", result[0], result[1]);
}

#endif
