extern int shared;
int add(int n);
int add(int n)
{
	shared = shared + n;
	return shared;
}
