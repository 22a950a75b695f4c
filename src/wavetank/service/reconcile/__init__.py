"""Makes what is wanted out of what is there: decides purely, acts by a maker, writes every intent before it is done."""
