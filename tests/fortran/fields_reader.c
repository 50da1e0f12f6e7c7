/* Reads a file of fields as docs/formats/fields.md describes it, with nothing of SCR: the program fields_kinds.F90 has written
   it. Checks checksums, and the values of the types that C has. Usage: fields_reader FILE */

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char* bytes;
static size_t length;

static void check(int holds, const char* field, const char* what)
{
    if (holds) return;
    fprintf(stderr, "fields_reader: %s: not so: %s\n", field, what);
    exit(1);
}

static uint64_t number(size_t at, int size)
{
    uint64_t value = 0;
    check(at + (size_t)size <= length, "file", "it has this number");
    while (size-- > 0) value = value << 8 | bytes[at + (size_t)size];
    return value;
}

static uint32_t crc32(const unsigned char* from, size_t count)
{
    uint32_t crc = 0xffffffff;
    while (count-- > 0) {
        crc ^= *from++;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

/* The value of an element, if C has the type; else NAN. */
static double element(uint32_t type, const unsigned char* at)
{
    union {
        int8_t i8; int16_t i16; int32_t i32; int64_t i64; float r32; double r64;
    } value;
    memcpy(&value, at, (type & 0xffffff) < 8 ? type & 0xffffff : 8);
    switch (type) {
    case 0x01000001: return value.i8;
    case 0x01000002: return value.i16 / 300.0;
    case 0x01000004: return value.i32 / 70000.0;
    case 0x01000008: return (double)(value.i64 / 5000000000);
    case 0x03000004: return (double)(value.r32 * 7);
    case 0x03000008: return value.r64 * 7;
    case 0x04000008: return value.r32;
    case 0x04000010: return value.r64;
    default: return NAN;
    }
}

int main(int argc, char** argv)
{
    FILE* file = fopen(argc > 1 ? argv[1] : "", "rb");
    int fields = 0, compared = 0;
    check(file != NULL, "file", "it is there");
    fseek(file, 0, SEEK_END);
    length = (size_t)ftell(file);
    rewind(file);
    bytes = malloc(length + 1);
    check(bytes != NULL && fread(bytes, 1, length, file) == length, "file", "it can be read");
    fclose(file);

    size_t trailer = length - 64;
    check(length >= 128 && memcmp(bytes, "SCRFIELD", 8) == 0 && memcmp(bytes + trailer, "SCRTABLE", 8) == 0, "file", "it is one of fields");
    check(crc32(bytes, 60) == number(60, 4) && crc32(bytes + trailer, 60) == number(trailer + 60, 4), "file", "its ends are sound");
    check(number(24, 8) == 2 && number(trailer + 40, 8) == length, "file", "two ranks wrote it, and so many bytes");
    size_t table = number(trailer + 16, 8), end = table + number(trailer + 24, 8);
    check(end <= trailer && crc32(bytes + table, end - table) == number(trailer + 52, 4), "file", "its table is sound");

    for (size_t at = table; at < end; at += number(at, 4), fields++) {
        char name[64] = "";
        int whose = bytes[at + 4], dims = bytes[at + 6];
        uint32_t type = (uint32_t)number(at + 8, 4), blocks = (uint32_t)number(at + 36, 4);
        size_t elements = number(at + 16, 8), count = 1, size = type & 0xffffff;
        size_t after = at + 40 + 8 * (size_t)dims * (whose == 1 ? 3 : 1);
        for (int dim = 0; dim < dims; dim++) count *= number(at + 40 + 8 * (size_t)dim, 8);
        check(number(at + 12, 4) < sizeof name, "table", "the name is short");
        memcpy(name, bytes + after + 4 * blocks, number(at + 12, 4));
        check(bytes[at + 5] == 1, name, "dimensions are named as in Fortran");
        check(elements + count * size <= table, name, "the elements are in the file");
        check(crc32(bytes + elements, count * size) == number(at + 32, 4), name, "the checksum");
        /* Fields that are written in the order of the memory have the values 1, 2, 3 and so on. */
        const char* short_name = strchr(name, '/');
        check(short_name != NULL, name, "it is in a list");
        int in_order = !strcmp(short_name, "/x1") || !strcmp(short_name, "/x3") || !strcmp(short_name, "/x7") ||
            !strcmp(short_name, "/grown3") || !strcmp(short_name, "/grown7");
        if (in_order) check(count == 24, name, "24 elements");
        if (!strcmp(short_name, "/never")) check(count == 0, name, "no element");
        for (size_t i = 0; in_order && i < count; i++) {
            double value = element(type, bytes + elements + i * size);
            check(isnan(value) || fabs(value - (double)(i + 1)) < 1e-5, name, "the value");
            compared += !isnan(value);
        }
    }
    check(fields == (int)number(trailer + 48, 4), "table", "so many fields");
    check(compared == 8 * 5 * 24, "file", "all types that C has were compared");
    printf("%s: %d fields, %d elements compared\n", argv[1], fields, compared);
    free(bytes);
    return 0;
}
