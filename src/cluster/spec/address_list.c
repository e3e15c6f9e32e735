// A list of addresses that an operator names.
#include "cluster/spec/address_list.h"
#include "base/alloc.h"
#include "cluster/spec/cluster_spec.h"
#include <string.h>
#include <strings.h>

// The entry without a port, as an address with one: a host.
static char *with_port(const char *host)
{
    return bd_asprintf("%s:1", host);
}

static braid_code check_entry(const char *entry, braid_status *st)
{
    char host[BD_HOST_LEN_MAX + 1];
    int port;
    BD_STATUS(unwanted);
    if (bd_address_unix_path(entry)) return bd_address_check(entry, st);
    if (!bd_host_port_parse(entry, host, &port, unwanted)) return BRAID_OK;
    char *address = with_port(entry);
    if (bd_host_port_parse(address, host, &port, st))
        bd_fail(st, BRAID_INVALID_ARGUMENT, "'%s' is neither a host nor host:port, unix:/path or *", entry);
    bd_free(address);
    return st->code;
}

braid_code bd_address_list_parse(const char *text, bd_address_list *out, braid_status *st)
{
    *out = (bd_address_list){0};
    char *copy = bd_strdup(text ? text : ""), *rest = copy;
    for (char *entry; *copy && !st->code && (entry = strsep(&rest, ","));) {
        if (strcmp(entry, "*") == 0)
            out->has_all = true;
        else if (!check_entry(entry, st))
            bd_array_push(&out->entries, bd_strdup(entry));
    }
    bd_free(copy);
    if (st->code) bd_address_list_fini(out);
    return st->code;
}

void bd_address_list_fini(bd_address_list *list)
{
    for (size_t i = 0; i < list->entries.len; i++)
        bd_free(list->entries.items[i]);
    bd_array_free(&list->entries);
    *list = (bd_address_list){0};
}

static bool matches(const char *entry, const char *address)
{
    if (bd_address_unix_path(entry) || bd_address_unix_path(address)) return strcmp(entry, address) == 0;
    char host[BD_HOST_LEN_MAX + 1], of_entry[BD_HOST_LEN_MAX + 1];
    int port, port_of_entry;
    BD_STATUS(st);
    if (bd_host_port_parse(address, host, &port, st)) return false;
    if (!bd_host_port_parse(entry, of_entry, &port_of_entry, st))
        return port == port_of_entry && strcasecmp(host, of_entry) == 0;
    braid_status_clear(st);
    char *whole = with_port(entry);
    const bool is_host =
        !bd_host_port_parse(whole, of_entry, &port_of_entry, st) && strcasecmp(host, of_entry) == 0;
    bd_free(whole);
    return is_host;
}

bool bd_address_list_has(const bd_address_list *list, const char *address)
{
    bool has = list->has_all;
    for (size_t i = 0; !has && i < list->entries.len; i++)
        has = matches(list->entries.items[i], address);
    return has;
}
