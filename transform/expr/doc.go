// Package expr evaluates expressions over the columns of batches:
//
//	e, err := expr.Parse("nJet >= 2 && max(Jet_pt) > 30 && abs(eta) < 2.5")
//	p, err := e.Bind(schema, nil)      // types are checked, code is made
//	err = p.Keep(batch, keep)          // 0 or 1 for each sample
//
// The text is parsed by expr-lang/expr; types, missing values and evaluation are ours:
// a program runs over blocks of about a thousand samples, one operation at a time over
// whole vectors, where a virtual machine that runs once a sample costs a hundred times
// more.
//
// A value is one per sample (a scalar field, or the elements of a field of fixed shape)
// or one per element of a list. Scalars spread over lists; sum, max, min, mean, len,
// any, all, count, argmax, argmin and an index make a list one value again.
//
// Times compare with texts: time < "2019-01-01", time >= "2019-01-01T06:00Z".
//
// Numbers are i64 or f64, whatever the fields hold. Integers that leave i64 are an
// error, never a wrong number. A value may be missing: a nullable field, an index
// beyond the end, the largest of none, an integer modulo 0. What is computed from it is
// missing too, and ?? replaces it; `a && b` is false when either is.
//
// Texts are those of fields, the sample's name, and what regex, part, folder, stem and lower make
// of them.
package expr
