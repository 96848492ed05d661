// Package cli is the command line of healc: its commands and flags, what goes to which stream, and the
// exit codes. The work is done by package driver.
package cli
