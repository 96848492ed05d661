/* How many threads the process has; 0 where the system does not say. */
#include <dirent.h>

static int threads(void) {
  int n = -2;
  DIR *d = opendir("/proc/self/task");
  if (!d)
    return 0;
  while (readdir(d))
    n++;
  closedir(d);
  return n;
}
