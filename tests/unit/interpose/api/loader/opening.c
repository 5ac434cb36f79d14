/* Stand-ins for libraries that programs open; test_loader.py compiles parts of this file, each as a library of its own. */
#define _GNU_SOURCE
#include <dlfcn.h>

#ifdef NCCL
int ncclAllReduce(void) { return 70; }
int pncclAllReduce(void) { return 71; }
int ncclNewInThisVersion(void) { return 72; }
int plain(void) { return 73; }
#endif

#ifdef PROFILER
int ncclAllReduce(void) { return 80; }
#endif

#ifdef CALLER
/* What depends on who asks: DT_RUNPATH, $ORIGIN, the libraries behind this one. */
void *open_from_here(const char *file) { return dlopen(file, RTLD_NOW); }
void *find_from_here(int next, const char *name) { return dlsym(next ? RTLD_NEXT : RTLD_DEFAULT, name); }
int who(void) { return 1; }
#endif

#ifdef NEXT
int who(void) { return 2; }
#endif
