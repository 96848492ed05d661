package modular

import (
	"healc/ir/scalar"
	"healc/lang/types"
)

// Choices are all choices that the programs of this package make. Each arm of each is to be taken by some random
// program (tests/reach).
var Choices []*scalar.Choice

func choice(name, then, els string) *scalar.Choice {
	c := &scalar.Choice{Name: name, Then: then, Else: els}
	Choices = append(Choices, c)
	return c
}

// ofWords is a choice for each type of words.
func ofWords(name, then, els string) map[types.DType]*scalar.Choice {
	return map[types.DType]*scalar.Choice{
		types.U32: choice(name+" of u32", then, els), types.U64: choice(name+" of u64", then, els),
	}
}

// Of one operand and of several.
var (
	ofResidue  = ofWords("residue", "any number", "in range")
	ofOperands = ofWords("operands", "any numbers", "in range")
	ofFactors  = ofWords("factors", "any numbers", "no longer than p")
)

// Of products.
var (
	ofProduct32 = choice("product of u32", "p below 2^30", "any p")
	ofDigits    = choice("product of u64 by digits", "p below 2^50", "larger p or no digits")
	ofDoubles   = choice("product of u64 by doubles", "p below 2^50", "larger p or no doubles")
	ofHalves    = choice("product of u64", "p below 2^60", "any p")
	ofMoreBits  = choice("product of u64 below 2^60", "by digits", "by halves")
	ofLong      = choice("product of u64 by halves", "p of 2^50 or more", "any p")
)

// Of sums of products.
var (
	ofSums       = choice("sum of products", "by digits", "no digits")
	ofSumsAround = choice("sum of products without digits", "by doubles", "by halves")
	ofTerms      = choice("factors of a sum", "any numbers", "short")
	ofTermDigits = choice("term of a sum by digits", "p of one digit", "p of two digits")
	ofSumDigits  = choice("sum by digits", "p of one digit", "p of two digits")
	ofDoubleTerm = choice("factors of a sum by doubles", "any numbers", "short")
	ofUpper      = choice("upper word of a sum", "any number", "in range")
	ofParts      = choice("sum of parts", "any numbers", "the quotient is a double")
)
