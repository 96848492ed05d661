// Package pool runs the pieces of a loop on several threads, those of all compiled programs of the process.
package pool
