# Run in images/jpeg with Pillow: makes the images of testdata and what Pillow decodes of them.
import hashlib
import io
import json

import numpy as np
from PIL import Image
r=np.random.default_rng(3)
def tex(w,h,c=3):
    y,x=np.mgrid[0:h,0:w]
    a=np.stack([127+90*np.sin(x/5+k)+30*np.cos(y/3-k) for k in range(c)],-1)+r.normal(0,6,(h,w,c))
    return np.clip(a,0,255).astype('u1')
out={}
def put(n,im,**k):
    b=io.BytesIO(); im.save(b,'JPEG',**k); b=b.getvalue(); open('testdata/'+n+'.jpg','wb').write(b)
    im=Image.open(io.BytesIO(b)); rgb=im.convert('RGB').tobytes()
    d=Image.open(io.BytesIO(b)); d.draft(None,(im.size[0]//2,im.size[1]//2))
    out[n]={'rgb':hashlib.sha256(rgb).hexdigest(),'half':hashlib.sha256(d.tobytes()).hexdigest(),'half_size':d.size,'native':hashlib.sha256(im.tobytes()).hexdigest()}
put('prog420',Image.fromarray(tex(51,37)),progressive=True,quality=80)
put('base420',Image.fromarray(tex(45,37)),quality=85)
put('rst444',Image.fromarray(tex(40,30)),quality=80,subsampling=0,restart_marker_blocks=3)
put('grey',Image.fromarray(tex(33,31,1)[...,0]),quality=80)
put('cmyk',Image.fromarray(tex(26,17,4),'CMYK'),quality=70)
put('prog422rst',Image.fromarray(tex(50,34)),progressive=True,subsampling=1,restart_marker_blocks=2,quality=90)
json.dump(out,open('testdata/expected.json','w'),indent=1,sort_keys=True); open('testdata/expected.json','a').write('\n')
