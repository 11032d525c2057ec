/* The same from a shared library: it must find the program's runtime, or none. */
#include "use.h"

void library(void);
__attribute__((visibility("default"))) void library(void)
{
	use();
}
