// The environment variable by which `braid run` names a directory that all tasks of a run see.
#ifndef BD_BASE_RUN_DIR_VARIABLE_H
#define BD_BASE_RUN_DIR_VARIABLE_H

// Set where all tasks run on this host. The directory is temporary: it goes when the run ends and nothing is
// in it.
#define BD_RUN_DIR_VARIABLE "BRAID_RUN_DIR"

#endif
