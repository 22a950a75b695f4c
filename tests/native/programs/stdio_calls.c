/* Streams: what reaches the file, whatever function it comes from. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    char line[256], block[10000];
    memset(block, 'x', sizeof block);
    FILE *stream = fopen("lines.txt", "w");
    for (int i = 0; i < 1000; i++) {
        fprintf(stream, "%09d\n", i); /* 10 bytes; __fprintf_chk in a fortified build */
    }
    fclose(stream);
    stream = fopen("lines.txt", "r");
    while (fgets(line, sizeof line, stream) != NULL) {
    }
    fclose(stream);
    stream = fopen("lines.txt", "r+");
    setvbuf(stream, NULL, _IOFBF, 1024);
    if (fread(line, 1, 10, stream) != 10) {
        return 1;
    }
    fseek(stream, 5000, SEEK_SET);
    fputs("changed", stream);
    fclose(stream);
    stream = fopen("lines.txt", "a");
    fwrite(block, 1, sizeof block, stream);
    fclose(stream);
    stream = fopen("left.txt", "w");
    putc('a', stream);
    fflush(stream);
    putc('b', stream); /* left to the flush at exit */
    return 0;
}
