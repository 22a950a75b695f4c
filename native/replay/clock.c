/* Names the clock that this process reads. Two jobs whose clocks have one name start at one moment without
 * being compared. */
#include "clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool wt_clock_name(char name[CLOCK_NAME]) {
    memset(name, 0, CLOCK_NAME);
    char boot[64] = "";
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (f) {
        if (!fgets(boot, sizeof boot, f)) {
            boot[0] = '\0';
        }
        fclose(f);
    }
    boot[strcspn(boot, "\n")] = '\0';
    struct stat time_namespace = {0};
    stat("/proc/self/ns/time", &time_namespace);
    if (!boot[0]) {
        return false;
    }
    snprintf(name, CLOCK_NAME, "%.40s/%lu", boot, (unsigned long)time_namespace.st_ino);
    return true;
}
