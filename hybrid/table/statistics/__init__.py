"""Files of Stata, SPSS and SAS, read and written by pyreadstat."""
