extern dlm double a[10];
