void library(void);

int main(void)
{
	library();
	return 0;
}
