/* Includes the header twice and alone, and calls nothing: compiled by each compiler and for each standard. */
#include HEADER
#include HEADER

int main(void) { return 0; }
