#include "use.h"

int main(void)
{
	use();
	return 0;
}
