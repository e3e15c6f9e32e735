// The functions of the program that nodes call, by token: see braid/callback.h.
#ifndef BD_OP_CALLBACK_H
#define BD_OP_CALLBACK_H

#include <braid/callback.h>

typedef struct bd_callback bd_callback;

// Returns a reference; NULL: there is no such function.
bd_callback *bd_callback_find(const char *token);
void bd_callback_unref(bd_callback *c);
braid_code bd_callback_run(bd_callback *c, const braid_callback_call *call, braid_status *st);

#endif
