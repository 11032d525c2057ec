/*
 * The block, and the variable, are in a shared library that is loaded while the
 * program runs.
 *
 * buggy blame: plugin_deposit
 * buggy refuted: plugin_deposit
 * buggy variable: balance
 * buggy rests: data
 * buggy step: r read
 * buggy step: w write
 * buggy prints: balance 10
 * fixed prints: balance 30
 *
 * library: -DPLUGIN
 * libs: -ldl -rdynamic
 */
#include "window.h"

#ifdef PLUGIN

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int balance;

BLOCK int plugin_balance(void)
{
	return balance;
}

BLOCK void plugin_deposit(int amount)
{
	pthread_mutex_lock(&m);
	int b = balance; /* step: read */
#ifndef FIXED
	pthread_mutex_unlock(&m);
#endif
	window_hold(1);
#ifndef FIXED
	pthread_mutex_lock(&m);
#endif
	balance = b + amount; /* step: write */
	pthread_mutex_unlock(&m);
}

#else

#include <dlfcn.h>

static void (*deposit)(int);

TWO_THREADS(deposit(10), deposit(20))

int main(void)
{
	void *plugin = dlopen("./plugin.so", RTLD_NOW);
	int (*balance)(void);

	if (!plugin) {
		printf("%s\n", dlerror());
		return 1;
	}
	*(void **)&deposit = dlsym(plugin, "plugin_deposit");
	*(void **)&balance = dlsym(plugin, "plugin_balance");
	run_two(first, second);
	printf("balance %d\n", balance());
	dlclose(plugin);
}

#endif
