"""Makes the images beside it: 3 x 2 pixels of different colours, turned by Pillow, with the tag that turns them back."""
from PIL import Image

up = Image.new("RGB", (3, 2))
up.putdata([(250, 0, 0), (0, 250, 0), (0, 0, 250), (250, 250, 0), (0, 250, 250), (250, 250, 250)])
for tag, back in enumerate([None, 0, 3, 1, 5, 2, 6, 4], 1):  # the inverse of what exif_transpose does
    image = up if back is None else up.transpose(Image.Transpose(back))
    exif = Image.Exif()
    exif[0x112] = tag
    image.save("%d.png" % tag, exif=exif)
    if tag == 6:
        image.save("6.jpg", exif=exif)
        image.save("6.webp", exif=exif, lossless=True)
        image.save("6.tif", tiffinfo={0x112: tag})
