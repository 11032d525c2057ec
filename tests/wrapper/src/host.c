/* Calls plugin(): of the library that it is linked with, or of the one named, by dlmopen() with
 * APART. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#ifdef LINKED
int plugin(void);
#endif

int main(int argc, char **argv)
{
#ifdef LINKED
	(void)argc;
	(void)argv;
	printf("plugin: %d wrong\n", plugin());
#else
	for (int i = 1; i < argc; i++) {
#ifdef APART
		void *lib = dlmopen(LM_ID_NEWLM, argv[i], RTLD_NOW | RTLD_LOCAL);
#else
		void *lib = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
#endif
		int (*plugin)(void) = lib ? (int (*)(void))dlsym(lib, "plugin") : NULL;

		if (!plugin || dlerror()) {
			printf("cannot load %s: %s\n", argv[i], lib ? "no plugin()" : dlerror());
			return 1;
		}
		printf("plugin: %d wrong\n", plugin());
		dlclose(lib);
	}
#endif
	return 0;
}
