// A list of addresses that an operator names: those that sessions with a cluster of their own may lead to.
#ifndef BD_CLUSTER_SPEC_ADDRESS_LIST_H
#define BD_CLUSTER_SPEC_ADDRESS_LIST_H

#include "base/array.h"
#include "base/status.h"
#include <stdbool.h>

// All zero: none.
typedef struct bd_address_list {
    BD_ARRAY(char *) entries;
    bool has_all;
} bd_address_list;

// Reads entries with commas in between: "host" (all of its ports), "host:port", "unix:/path", or "*" (all).
// NULL and "" name none. InvalidArgument for any other entry; the list is then empty.
braid_code bd_address_list_parse(const char *text, bd_address_list *out, braid_status *st);
void bd_address_list_fini(bd_address_list *list);

// Whether the list has an address that bd_address_check accepts. Hosts are compared as texts, but for the
// case of letters: no name is looked up.
bool bd_address_list_has(const bd_address_list *list, const char *address);

#endif
