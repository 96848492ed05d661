// Package rows has the code that computes whole rows in memory (ir.RowPull): sorting by keys and by merging, and number
// theoretic transforms. Package ops names it in the Rows and Element rules of its entries.
package rows
