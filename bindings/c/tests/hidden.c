/* A program that hides its own names still finds those of the libraries. */
#pragma GCC visibility push(hidden)
#include "blake3.h"
#include "treewide.h"

int main(void) { return blake3_version() == NULL || treewide_version() == NULL; }
