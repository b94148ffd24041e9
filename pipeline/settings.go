package pipeline

import "github.com/shardify/shardify/pipeline/settings"

// Settings say what a conversion does.
type Settings = settings.Settings

// Range is samples [Lo, Hi); Hi 0 means to the end.
type Range = settings.Range
