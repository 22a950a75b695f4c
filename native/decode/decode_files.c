/* Reads META payloads. Records of files become columns here, since a part may name a million; all others are
 * few and are left to Python, which is told where they lie. */
#include "decode_files.h"
#include "decode.h"

#include <stdlib.h>
#include <string.h>

struct record {
    uint8_t kind;
    struct wt_input fields; /* what follows its length */
};

static bool next_record(struct wt_input *in, struct record *record) {
    record->kind = wt_get_byte(in);
    uint64_t length = wt_get_varint(in);
    if (in->bad || length > (uint64_t)(in->end - in->at)) {
        return false;
    }
    record->fields = (struct wt_input){in->at, in->at + length, false};
    in->at += length;
    return true;
}

static bool is_of_files(uint8_t kind) {
    return kind == WT_META_FILE || kind == WT_META_IDENTITY || kind == WT_META_SYMLINK ||
           kind == WT_META_DIRECTORY;
}

/* A text that the rest of its record holds; without a zero byte, which ends texts in the columns. */
static bool get_text(struct wt_input *in, const uint8_t **text, size_t *length) {
    uint64_t n = wt_get_varint(in);
    if (in->bad || n > (uint64_t)(in->end - in->at)) {
        return false;
    }
    *text = in->at;
    *length = (size_t)n;
    in->at += n;
    return memchr(*text, 0, *length) == NULL;
}

/* What records of files say, as they stand. */
struct facts {
    uint64_t number, named, size, mount, device, inode, born, generation;
    const uint8_t *text;
    size_t length;
};

static bool get_facts(struct record *record, struct facts *facts) {
    struct wt_input *in = &record->fields;
    *facts = (struct facts){.number = wt_get_varint(in)};
    bool good = true;
    switch (record->kind) {
    case WT_META_FILE:
        facts->size = wt_get_varint(in);
        facts->mount = wt_get_varint(in);
        good = get_text(in, &facts->text, &facts->length);
        break;
    case WT_META_IDENTITY:
        facts->named = wt_get_varint(in);
        facts->size = wt_get_varint(in);
        facts->device = wt_get_varint(in);
        facts->inode = wt_get_varint(in);
        facts->born = wt_get_varint(in);
        facts->generation = wt_get_varint(in);
        good = facts->named < WT_MOST_FILES;
        break;
    case WT_META_SYMLINK:
        good = get_text(in, &facts->text, &facts->length);
        break;
    default:
        break;
    }
    return good && !in->bad && facts->number < WT_MOST_FILES && facts->size <= INT64_MAX &&
           facts->mount <= INT32_MAX && facts->born <= INT64_MAX;
}

WT_EXPORT int64_t wt_count_files(const uint8_t *payload, size_t length, struct wt_file_sizes *sizes) {
    struct wt_input in = {payload, payload + length, false};
    *sizes = (struct wt_file_sizes){0};
    while (in.at < in.end) {
        int64_t begin = in.at - payload;
        struct record record;
        struct facts facts;
        if (!next_record(&in, &record)) {
            return begin;
        }
        if (!is_of_files(record.kind)) {
            sizes->others++;
            continue;
        }
        if (!get_facts(&record, &facts)) {
            return begin;
        }
        sizes->entries += record.kind == WT_META_FILE || record.kind == WT_META_IDENTITY;
        sizes->texts += facts.text != NULL;
        sizes->bytes += facts.text != NULL ? (int64_t)facts.length + 1 : 0;
        sizes->highest = (int64_t)facts.number > sizes->highest ? (int64_t)facts.number : sizes->highest;
        sizes->highest = (int64_t)facts.named > sizes->highest ? (int64_t)facts.named : sizes->highest;
    }
    return (int64_t)length;
}

WT_EXPORT void wt_other_records(const uint8_t *payload, size_t length, const struct wt_file_sizes *sizes,
                                struct wt_other_record *others) {
    struct wt_input in = {payload, payload + length, false};
    struct record record;
    for (int64_t n = 0; n < sizes->others && in.at < in.end && next_record(&in, &record);) {
        if (!is_of_files(record.kind)) {
            const uint8_t *begin = record.fields.at, *end = record.fields.end;
            others[n++] = (struct wt_other_record){record.kind, begin - payload, end - payload};
        }
    }
}

/* Columns as far as they are filled, and where each number's entry lies in them, + 1. */
struct filling {
    const struct wt_file_columns *columns;
    struct wt_file_sizes at;
    int32_t *place;
};

static int64_t put_text(struct filling *to, const struct facts *facts) {
    const struct wt_file_columns *columns = to->columns;
    memcpy(columns->texts + to->at.bytes, facts->text, facts->length);
    columns->texts[to->at.bytes + (int64_t)facts->length] = 0;
    to->at.bytes += (int64_t)facts->length + 1;
    columns->text_end[to->at.texts] = to->at.bytes;
    return to->at.texts++;
}

static int64_t entry_of(struct filling *to, uint64_t number) {
    if (to->place[number] == 0) {
        to->columns->number[to->at.entries] = (int64_t)number;
        to->place[number] = (int32_t)++to->at.entries;
    }
    return to->place[number] - 1;
}

static void put_name(struct filling *to, const struct facts *facts) {
    const struct wt_file_columns *columns = to->columns;
    int64_t entry = entry_of(to, facts->number);
    columns->path[entry] = put_text(to, facts);
    columns->link[entry] = -1;
    columns->size_before[entry] = (int64_t)facts->size - 1;
    columns->mount[entry] = (int64_t)facts->mount - 1;
    columns->device[entry] = columns->inode[entry] = 0;
    columns->born[entry] = columns->generation[entry] = 0;
    columns->flags[entry] = 0;
}

static void put_identity(struct filling *to, const struct facts *facts) {
    const struct wt_file_columns *columns = to->columns;
    if (to->place[facts->named] == 0) {
        return;
    }
    int64_t named = to->place[facts->named] - 1, entry = entry_of(to, facts->number);
    bool same = named == entry;
    columns->path[entry] = columns->path[named];
    columns->link[entry] = same ? columns->link[entry] : -1;
    columns->mount[entry] = columns->mount[named];
    if (!same || facts->size != 0) {
        columns->size_before[entry] = (int64_t)facts->size - 1;
    }
    columns->device[entry] = facts->device;
    columns->inode[entry] = facts->inode;
    columns->born[entry] = (int64_t)facts->born;
    columns->generation[entry] = (int64_t)(facts->generation >> 1);
    columns->flags[entry] = (uint8_t)(WT_FILE_IDENTITY | (facts->generation & 1 ? WT_FILE_MADE : 0));
}

WT_EXPORT int64_t wt_decode_files(const uint8_t *payload, size_t length, struct wt_file_sizes *sizes,
                                  const struct wt_file_columns *columns) {
    struct wt_input in = {payload, payload + length, false};
    struct filling to = {.columns = columns};
    to.place = calloc((size_t)sizes->highest + 1, sizeof *to.place);
    if (to.place == NULL) {
        return WT_TOO_MANY;
    }
    struct record record;
    while (in.at < in.end && next_record(&in, &record)) {
        struct facts facts;
        if (!is_of_files(record.kind)) {
            continue;
        }
        if (!get_facts(&record, &facts)) {
            break;
        }
        if (record.kind == WT_META_FILE) {
            put_name(&to, &facts);
        } else if (record.kind == WT_META_IDENTITY) {
            put_identity(&to, &facts);
        } else if (to.place[facts.number] != 0 && record.kind == WT_META_SYMLINK) {
            columns->link[to.place[facts.number] - 1] = put_text(&to, &facts);
        } else if (to.place[facts.number] != 0) {
            columns->flags[to.place[facts.number] - 1] |= WT_FILE_DIRECTORY;
        }
    }
    free(to.place);
    sizes->entries = to.at.entries;
    sizes->texts = to.at.texts;
    sizes->bytes = to.at.bytes;
    return 0;
}
