/* included by header.c */
// error at 13: 'wrong' is a pointer
dlm double *wrong;
