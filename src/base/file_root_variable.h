// The environment variable by which an operator says which files the servers of a process open to graphs.
#ifndef BD_BASE_FILE_ROOT_VARIABLE_H
#define BD_BASE_FILE_ROOT_VARIABLE_H

#define BD_FILE_ROOT_VARIABLE "BRAID_FILE_ROOT" // a list as in braid_server_options.file_roots

#endif
