// Package scalartest has what tests of scalar programs share.
package scalartest
