package shardify

// Transform changes batches. Its output depends on sample and seed alone: not
// on neighbours, batch borders or jobs.
//
// Schema comes first and fixes what Apply expects; Apply may then be called from
// several goroutines at once, on batches of any size.
type Transform interface {
	// Schema refuses a bad plan before any data is read. It is given the fields that
	// Apply will see and returns those that Apply will make.
	Schema(in []Field) ([]Field, error)
	Cost(in []Field) Cost
	// Apply returns a batch that lives in mem; it may share columns with b, and may be b. It
	// may drop samples, or make several of one (ID.Copy distinguishes them): then the result
	// lists its IDs one by one.
	Apply(b *Batch, seed uint64, mem *Arena) (*Batch, error)
}

// Cost is what a transform adds to the memory of a span.
type Cost struct {
	Growth float64 // output bytes per input byte
	Sample int64   // further bytes per sample
}

// Surveyor is a Transform that must have seen the data before the plan is
// complete: statistics to normalise by, a vocabulary. The survey runs over the
// samples that reach the transform in the splits that count; its result is part
// of the plan.
type Surveyor interface {
	Transform
	// Surveys names the facts to find; "" if there is nothing to find.
	Surveys() string
	// NewSurvey begins a survey of a part of the samples. It is called after Schema.
	NewSurvey() Survey
	// Learn takes the result of the survey. It comes before Apply, and Schema is called again
	// after it, since a vocabulary may become part of the schema.
	Learn(result []byte) error
}

// Multiplier is a Transform that makes the same number of samples of each one, known after Schema.
type Multiplier interface {
	Transform
	Multiplies() int
}

// AllSplits is a Surveyor whose survey counts the samples of every split: what it learns
// names values and does not measure them. Other surveys count the split to train on.
type AllSplits interface{ SurveysAllSplits() bool }

// Survey gathers facts of samples, in their order, on one goroutine.
type Survey interface {
	Add(b *Batch) error
	// Merge adds what a survey of the samples that follow has gathered. Parts are fixed
	// by the plan and merged in order, so that sums of floating-point numbers do not
	// depend on jobs.
	Merge(next Survey) error
	// Result is the canonical text of what was found. What follows SurveyDetail in it is for
	// the plan alone.
	Result() ([]byte, error)
}

// SurveyDetail begins what of a survey's result manifests do not have.
const SurveyDetail = "\ndetail: "

// Count is something that a transform did to values and that users must know: numbers that
// overflowed, elements cut off. Receipts and manifest sum counts by name.
type Count struct {
	Name string `json:"name"` // "cast x: overflow"
	N    int64  `json:"n"`
	// Of counts rows of a table that nothing used, Used those that something did: then N
	// follows from both, whatever the parts that are summed. In receipts alone.
	Of   int64   `json:"of,omitempty"`
	Used *RowSet `json:"used,omitempty"`
}
