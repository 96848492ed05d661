// Package operators types expressions with operators: element-wise ones with the broadcasts written out, those of
// strings, conversions, and the matrix product.
package operators
