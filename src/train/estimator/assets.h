// Assets of an exported model: the files that its graph reads, which are copied beside it.
#ifndef BD_TRAIN_ASSETS_H
#define BD_TRAIN_ASSETS_H

#include "base/array.h"
#include "base/status.h"
#include <braid/session.h>

typedef struct train_asset {
    braid_out path;       // the string constant that the loader of a model feeds with the path of its copy
    char *file;           // the path here
    const char *filename; // in the directory "assets"; owned by `own_filename`, or a part of `file`
    char *own_filename;
} train_asset;

typedef BD_ARRAY(train_asset) train_assets;

// Finds the assets of the session's graph: the collection BRAID_ASSET_FILEPATHS. `list` is to be finished on
// an error, too: InvalidArgument for an element that is no string scalar; those of the session.
braid_code train_assets_find(train_assets *list, braid_graph *g, braid_session *session, braid_status *st);

// Copies each file to the directory DIR/assets, which is made if there is one. NotFound for a file that
// cannot be read, Unavailable for a copy that cannot be written.
braid_code train_assets_copy(const train_assets *list, const char *dir, braid_status *st);

void train_assets_fini(train_assets *list);

#endif
