// Package sandboxtest is machine code of an attacker, for tests: it tries what nothing in a sandbox may do.
package sandboxtest
