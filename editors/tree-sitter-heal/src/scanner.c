// What the lexer of tree-sitter cannot read: comments that nest, names that are no keywords, and whether an `@` begins an attribute of a
// function that follows, or is a matrix product.

#include "tree_sitter/parser.h"

#include <stdbool.h>
#include <string.h>

enum { BLOCK_COMMENT, ATTRIBUTE_MARK, IDENTIFIER, AXIS, KEEP, INIT, SPLIT, BY, ON, SHARDED, NEVER };

static const char *const keywords[] = {"fn", "pub", "const", "let", "mut", "if", "else", "match", "in", "as", "import", "test", "return",
                                       "true", "false", 0};
static const char *const words[] = {"axis", "keep", "init", "split", "by", "on", "sharded", 0};

void *tree_sitter_heal_external_scanner_create(void) { return 0; }
void tree_sitter_heal_external_scanner_destroy(void *s) { (void)s; }
unsigned tree_sitter_heal_external_scanner_serialize(void *s, char *buffer) { (void)s, (void)buffer; return 0; }
void tree_sitter_heal_external_scanner_deserialize(void *s, const char *buffer, unsigned n) { (void)s, (void)buffer, (void)n; }

static bool letter(int32_t c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool digit(int32_t c) { return c >= '0' && c <= '9'; }

// comment reads what is behind `/`, where a comment begins there.
static bool comment(TSLexer *l) {
  if (l->lookahead != '*') return false;
  l->advance(l, false);
  for (int depth = 1; depth > 0;) {
    if (l->eof(l)) return false;
    int32_t c = l->lookahead;
    l->advance(l, false);
    if (c == '/' && l->lookahead == '*') {
      l->advance(l, false);
      depth++;
    } else if (c == '*' && l->lookahead == '/') {
      l->advance(l, false);
      depth--;
    }
  }
  return true;
}

// blanks skips blanks and comments; it is false where a `/` is none.
static bool blanks(TSLexer *l) {
  for (;;) {
    if (l->lookahead == ' ' || l->lookahead == '\t' || l->lookahead == '\n' || l->lookahead == '\r') {
      l->advance(l, false);
    } else if (l->lookahead == '#') {
      while (!l->eof(l) && l->lookahead != '\n') l->advance(l, false);
    } else if (l->lookahead == '/') {
      l->advance(l, false);
      if (!comment(l)) return false;
    } else {
      return true;
    }
  }
}

// word reads a name or a keyword; what is longer than any of those that matter is cut.
static void word(TSLexer *l, char out[16]) {
  int n = 0;
  for (; letter(l->lookahead) || digit(l->lookahead); l->advance(l, false)) {
    if (n < 15) out[n++] = (char)l->lookahead;
  }
  out[n] = 0;
}

static int find(const char *const *list, const char *w) {
  for (int i = 0; list[i]; i++) {
    if (!strcmp(list[i], w)) return i;
  }
  return -1;
}

// quoted skips a string.
static void quoted(TSLexer *l) {
  l->advance(l, false);
  while (!l->eof(l) && l->lookahead != '"' && l->lookahead != '\n') {
    if (l->lookahead == '\\') l->advance(l, false);
    l->advance(l, false);
  }
  l->advance(l, false);
}

// function reports whether a function follows the `@` that was read: its name, arguments, other attributes and `pub` stand between.
static bool function(TSLexer *l) {
  char w[16];
  for (;;) {
    if (!letter(l->lookahead)) return false;
    word(l, w);
    if (find(keywords, w) >= 0 || !blanks(l)) return false;
    if (l->lookahead == '(') {
      int depth = 0;
      do {
        if (l->eof(l)) return false;
        if (l->lookahead == '"') {
          quoted(l);
          continue;
        }
        if (l->lookahead == '(') depth++;
        if (l->lookahead == ')') depth--;
        l->advance(l, false);
      } while (depth > 0);
      if (!blanks(l)) return false;
    }
    if (letter(l->lookahead)) {
      word(l, w);
      if (!strcmp(w, "fn")) return true;
      if (strcmp(w, "pub") || !blanks(l)) return false;
      if (letter(l->lookahead)) {
        word(l, w);
        return !strcmp(w, "fn");
      }
    }
    if (l->lookahead != '@') return false;
    l->advance(l, false);
  }
}

bool tree_sitter_heal_external_scanner_scan(void *s, TSLexer *l, const bool *valid) {
  (void)s;
  if (valid[NEVER]) return false; // tree-sitter recovers from a mistake, and all are valid
  while (l->lookahead == ' ' || l->lookahead == '\t' || l->lookahead == '\n' || l->lookahead == '\r' || l->lookahead == 0xFEFF) {
    l->advance(l, true);
  }
  if (l->lookahead == '/' && valid[BLOCK_COMMENT]) {
    l->advance(l, false);
    if (!comment(l)) return false;
    l->mark_end(l);
    l->result_symbol = BLOCK_COMMENT;
    return true;
  }
  if (l->lookahead == '@' && valid[ATTRIBUTE_MARK]) {
    l->advance(l, false);
    l->mark_end(l);
    l->result_symbol = ATTRIBUTE_MARK;
    return function(l);
  }
  if (letter(l->lookahead)) {
    char w[16];
    word(l, w);
    l->mark_end(l);
    if (find(keywords, w) >= 0) return false;
    int i = find(words, w);
    l->result_symbol = IDENTIFIER;
    if (i >= 0 && valid[AXIS + i]) {
      l->result_symbol = (TSSymbol)(AXIS + i);
    } else if (!valid[IDENTIFIER]) {
      l->result_symbol = NEVER; // else a keyword would be read that the name begins with
    }
    return true;
  }
  return false;
}
