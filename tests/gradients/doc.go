// Package gradients compares derivatives with central differences, and forward mode with reverse mode.
package gradients
