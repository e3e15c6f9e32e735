// Certificates for one run: `braid run --hosts` makes an authority, of which nothing is left but the files of
// one certificate, in memory. They are sent to the agents (frames.h), which write them where their task reads
// them and remove them with it.
#ifndef BD_CLI_THROWAWAY_KEYS_H
#define BD_CLI_THROWAWAY_KEYS_H

#include "base/strbuf.h"
#include <braid/keys.h>
#include <stdbool.h>

#define BD_KEY_FILES 3
#define BD_TLS_DIR_VARIABLE "BRAID_TLS_DIR"

typedef struct bd_key_file {
    const char *name; // static
    bd_strbuf data;
} bd_key_file;

typedef struct bd_throwaway_keys {
    bd_key_file files[BD_KEY_FILES]; // of a certificate of the role task
} bd_throwaway_keys;

// Errors of the file system and of making certificates; *out is then empty.
braid_code bd_throwaway_keys_make(bd_throwaway_keys *out, braid_status *st);
void bd_throwaway_keys_fini(bd_throwaway_keys *keys);

// Writes a file into a directory that only this user may open, *dir, which is made when it is NULL
// (bd_key_dir_remove). False for a name that is none of those above, and on errors of the file system.
bool bd_key_dir_add(char **dir, const char *name, const void *data, size_t len);
void bd_key_dir_remove(char *dir); // NULL is accepted

#endif
