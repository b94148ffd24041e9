// Package s3 reads inputs from object stores that speak S3, and publishes data sets there:
// s3:// addresses, and gs:// by the interoperability endpoint of Google. All ranges of an
// object must be of one content (ETag and size), an object never replaces another, and
// requests are retried as in package remote. minio-go signs, lists and finds credentials.
//
// Endpoint, region and credentials are found as AWS's own tools find them: in the
// environment, in the profile files, by web identity or from the container. The metadata
// service of a cloud is asked only if AWS_EC2_METADATA_DISABLED is false: elsewhere that
// costs time, and on a cluster it may give the rights of the node. Without credentials
// requests are anonymous.
package s3
