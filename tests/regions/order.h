/*
 * Steps of threads in a fixed order. order.c is compiled plainly: the checker sees nothing of it.
 */
#ifndef ORDER_H
#define ORDER_H

/* Wait until so many steps are done. */
void order_wait(int step);
/* A step is done. */
void order_next(void);

#endif
