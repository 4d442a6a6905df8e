/* Includes the header twice and alone, and calls nothing: compiled by each compiler and for each standard. */
#include HEADER
#include HEADER

int main(void) {
#ifdef TREEWIDE_H
  /* As the header says. */
#ifdef __cplusplus
  treewide_file_options options = {};
#else
  treewide_file_options options = {0};
#endif
  return (int)options.strategy;
#else
  return 0;
#endif
}
