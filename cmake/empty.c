// Stands for the sources of a module that has only generated ones.
typedef int bd_empty;
