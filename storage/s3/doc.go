// Package s3 reads inputs from object stores that speak S3, and publishes data sets there:
// s3:// addresses, and gs:// by the interoperability endpoint of Google. It holds all ranges
// of an object to one content (ETag and size), makes objects only where there are none, and
// retries as package remote says; minio-go signs, lists and finds credentials.
//
// Endpoint, region and credentials are found as AWS's own tools find them: in the
// environment, in the profile files, by web identity or from the container. The metadata
// service of a cloud is asked only if AWS_EC2_METADATA_DISABLED is false: elsewhere that
// costs time, and on a cluster it may give the rights of the node. Without credentials
// requests are anonymous.
package s3
